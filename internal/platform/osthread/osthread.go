//go:build linux

// Package osthread runs functions on threads of their own, for what belongs to a thread and not to the whole
// process: the namespaces that it is in.
//
// It hides one trap: the first thread of a process is the one by which other processes see it, in
// /proc and when joining its namespaces, and it cannot end before the process does. Packages that change
// namespaces import it.
package osthread

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// Spend runs f on a thread that ends with it and returns at once. The thread is never the first one of the
// process.
func Spend(f func()) {
	go func() {
		// Never unlocked: the thread is as f has left it, and ends with this goroutine.
		runtime.LockOSThread()
		if unix.Gettid() != unix.Getpid() {
			f()
			return
		}
		// While this goroutine holds the first thread, the next one gets another.
		defer runtime.UnlockOSThread()
		begun := make(chan struct{})
		Spend(func() {
			close(begun)
			f()
		})
		<-begun
	}()
}
