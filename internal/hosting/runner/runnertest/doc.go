// Package runnertest is the contract of runner.Runner as a suite that every implementation runs. It knows the portable
// description and nothing of processes: what runs is the program of package programtest, wherever the runner has it.
//
// It hides the waiting. Only tests of runners may import it.
package runnertest
