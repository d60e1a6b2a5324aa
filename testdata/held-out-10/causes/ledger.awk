# A report that is computed row by row: gawk -v rows=ROWS -v work=STEPS -f ledger.awk writes ROWS rows of 120 bytes, STEPS steps for each.
BEGIN {
    sum = 1
    for (row = 1; row <= rows; row++) {
        for (step = 0; step < work; step++) sum = (sum * 16807) % 2147483647
        printf "%08d %0110d\n", row, sum
    }
}
