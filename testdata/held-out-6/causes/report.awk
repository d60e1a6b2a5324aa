# A report that is computed as it is sent: gawk -f report.awk -v host=HOST -v count=LINES -v work=STEPS computes STEPS sines for each line of some 90 B.
BEGIN {
    there = "/inet/tcp/0/" host "/8000"
    for (i = 1; i <= count; i++) {
        total = 0
        for (j = 1; j <= work; j++) total += sin(i * j) ^ 2
        printf "%08d %020.12f %020.12f %020.12f %015d\n", i, total, total / i, sqrt(total), i * 7919 |& there
    }
    close(there)
}
