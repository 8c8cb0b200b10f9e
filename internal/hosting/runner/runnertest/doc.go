// Package runnertest is the contract of runner.Runner as a suite that every
// implementation runs, and a small program for it to run: the test binary
// itself. A test package that uses it hands its TestMain to Main.
//
// It hides the program's flags, the certificate of its server and the waiting.
// Only tests of runners may import it.
package runnertest
