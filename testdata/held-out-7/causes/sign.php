<?php
// A journal that is signed as it is sent: sign.php HOST COUNT ROUNDS sends COUNT records of some 120 B, 40 in a write, each with a key derived by ROUNDS rounds of PBKDF2.
[, $host, $count, $rounds] = $argv;
$to = stream_socket_client("tcp://$host:8000", $code, $why, 10, STREAM_CLIENT_CONNECT, stream_context_create(["socket" => ["tcp_nodelay" => true]])) or exit(1);
stream_set_write_buffer($to, 0);
$block = "";
for ($i = 1; $i <= $count; $i++) {
    $block .= sprintf("%08d %s %s\n", $i, hash_pbkdf2("sha256", "record $i", "journal", (int)$rounds), str_repeat("j", 45));
    if ($i % 40 == 0 || $i == $count) { fwrite($to, $block); $block = ""; }
}
fclose($to);
