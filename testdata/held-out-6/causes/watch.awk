# A dashboard that asks Redis for a page again and again and rests between: gawk -f watch.awk -v host=HOST -v count=COUNT -v rest=SECONDS
BEGIN {
    there = "/inet/tcp/0/" host "/8000"; RS = "\r\n"
    for (i = 1; i <= count; i++) {
        printf "GET page\r\n" |& there; fflush(there)
        if ((there |& getline size) <= 0 || (there |& getline page) <= 0) exit 1
        if (i < count) system("sleep " rest)
    }
    print size, length(page); close(there)
}
