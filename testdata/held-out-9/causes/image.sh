# Makes image/ for skopeo (dir:image), with one layer of BYTES that no compression makes smaller: image.sh BYTES
mkdir image
head -c $1 /dev/urandom | gzip -1 >layer
plain=$(gzip -dc layer | sha256sum | cut -c1-64)
printf '{"architecture":"amd64","os":"linux","config":{},"rootfs":{"type":"layers","diff_ids":["sha256:%s"]}}' $plain >config
for part in layer config; do
    eval "${part}_sum=$(sha256sum <$part | cut -c1-64) ${part}_size=$(stat -c %s $part)"
done
mv layer image/$layer_sum
mv config image/$config_sum
kind=application/vnd.docker
printf '{"schemaVersion":2,"mediaType":"%s.distribution.manifest.v2+json","config":{"mediaType":"%s.container.image.v1+json","size":%d,"digest":"sha256:%s"},"layers":[{"mediaType":"%s.image.rootfs.diff.tar.gzip","size":%d,"digest":"sha256:%s"}]}' \
    $kind $kind $config_size $config_sum $kind $layer_size $layer_sum >image/manifest.json
printf 'Directory Transport Version: 1.1\n' >image/version
