# Orders by wire: gawk -v host=HOST -v count=COUNT -v size=BYTES -f orders.awk writes the head and the note of each by itself, and waits for the answer.
BEGIN {
    desk = "/inet/tcp/0/" host "/8000"
    note = sprintf("%0" size "d", 1)
    for (order = 1; order <= count; order++) {
        printf "order %d\n", order |& desk; fflush(desk)
        printf "%s\n", note |& desk; fflush(desk)
        if ((desk |& getline answer) <= 0) exit 1
    }
    close(desk)
}
