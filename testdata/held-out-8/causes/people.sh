# An LDIF file of COUNT people, and one more with a photograph of BYTES: people.sh COUNT BYTES
printf 'dn: dc=example\nobjectClass: dcObject\nobjectClass: organization\ndc: example\no: example\n\n'
for i in $(seq $1); do
    printf 'dn: cn=p%d,dc=example\nobjectClass: inetOrgPerson\ncn: p%d\nsn: p\ndescription: %0380d\n\n' $i $i $i
done
printf 'dn: cn=big,dc=example\nobjectClass: inetOrgPerson\ncn: big\nsn: p\njpegPhoto:: '
head -c $2 /dev/urandom | base64 -w 0
printf '\n\n'
