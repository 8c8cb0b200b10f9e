// Package command is how commands are put together: their arguments, the flags that many of them have, the words that
// a shell completes, and groups that only hold others. It makes no call and prints nothing.
package command
