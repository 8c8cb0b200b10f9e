# A machine of the user's own with nothing on it. It ends when standard input does, so with the test, however that
# ends.
. "$MACHINE"
exec 3<&0
cat <&3 >/dev/null &
wait $! # and collects whatever has lost its parent
