# Runs lines that come by a FIFO, one after the other, and tells their exit codes.
# A hostfile, remote shell and environment are the lines' own matter.
while :; do
    read -r line < "/shared/$1-lines" || continue
    sh -c "$line" > "/shared/$1-output" 2>&1
    echo $? > "/shared/$1-codes"
done
