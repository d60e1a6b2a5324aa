<?php // Puts scores into memcached: scores.php HOST COUNT BYTES, the next one after the answer.
[, $host, $count, $bytes] = $argv;
$to = fsockopen($host, 8000);
for ($game = 0; $game < $count; $game++) {
    fwrite($to, "set game$game 0 0 $bytes\r\n" . str_repeat("s", (int)$bytes) . "\r\n");
    if (fgets($to) === false) exit(1);
}
