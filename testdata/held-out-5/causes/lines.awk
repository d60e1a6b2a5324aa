# A request of one line and an answer of one line, again and again: gawk -f lines.awk -v host=HOST -v count=COUNT -v bytes=BYTES
BEGIN {
    there = "/inet/tcp/0/" host "/8000"; line = sprintf("%0" bytes "d", 0)
    for (i = 0; i < count; i++) { print line |& there; fflush(there); if ((there |& getline answer) <= 0) exit 1 }
    close(there)
}
