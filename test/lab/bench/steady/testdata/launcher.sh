# Runs lines that arrive in a FIFO, one after the other, and reports their exit codes.
# Each line sets its own hostfile, remote shell and environment.
while :; do
    read -r line < "/shared/$1-lines" || continue
    sh -c "$line" > "/shared/$1-output" 2>&1
    echo $? > "/shared/$1-codes"
done
