// Command pause holds the namespaces of a pod: it does nothing until it is told to end.
//
// It is the first process of the pod, so that the kernel hands it every process whose
// parent died. Where a pod shares one process namespace, those are buried here;
// otherwise they would fill the table of processes.
package main

import (
	"fmt"
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

// version becomes the tag of the image. Change it when this program changes.
const version = "1.0.0"

func main() {
	if len(os.Args) == 2 && os.Args[1] == "--version" {
		fmt.Println(version)
		return
	}
	// Two channels: one that is full of deaths would lose the word to end.
	end, deaths := make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(end, unix.SIGINT, unix.SIGTERM)
	signal.Notify(deaths, unix.SIGCHLD)
	for {
		bury() // first: some may have died before this program listened
		select {
		case <-end:
			return
		case <-deaths:
		}
	}
}

// bury takes the result of all children that ended. One signal may stand for many.
func bury() {
	for {
		pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil)
		if err == unix.EINTR {
			continue
		}
		if pid <= 0 {
			return
		}
	}
}
