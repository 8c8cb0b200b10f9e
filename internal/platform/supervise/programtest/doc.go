// Package programtest is a small program for supervisors and runners to run in tests: the test binary itself. A test
// package that uses it hands its TestMain to Main.
//
// It hides the program's flags. Only tests of what runs programs may import it.
package programtest
