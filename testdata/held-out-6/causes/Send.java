// One file by HTTP PUT, as a stream: java Send HOST FILE
import java.io.File;
import java.net.HttpURLConnection;
import java.net.URI;
import java.nio.file.Files;

class Send {
    public static void main(String[] a) throws Exception {
        File file = new File(a[1]);
        HttpURLConnection c = (HttpURLConnection) URI.create("http://" + a[0] + ":8000/got").toURL().openConnection();
        c.setRequestMethod("PUT"); c.setDoOutput(true); c.setFixedLengthStreamingMode(file.length());
        try (var to = c.getOutputStream()) { Files.copy(file.toPath(), to); }
        System.out.println(c.getResponseCode());
    }
}
