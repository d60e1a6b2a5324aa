// One file by HTTP, with the client of the JDK: java Fetch URL FILE. The buffer of its socket is -Djdk.httpclient.receiveBufferSize=BYTES.
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;

class Fetch {
    public static void main(String[] a) throws Exception {
        HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
        HttpResponse<Path> got = client.send(HttpRequest.newBuilder(URI.create(a[0])).build(), HttpResponse.BodyHandlers.ofFile(Path.of(a[1])));
        System.out.println(got.statusCode());
    }
}
