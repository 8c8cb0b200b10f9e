package supervise

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// helperMark in the environment makes the test binary another KQueen: it runs the workload of <dir>/helper.json, says
// so on stdout, and stays until killed.
const helperMark = "PROCESS_TEST_HELPER"

// helperJob is what the helper is to do.
type helperJob struct {
	Listen     netip.Addr
	Workload   Workload
	UntilReady bool // say so when ready, else right after Apply
}

func helper(dir string) int {
	if err := help(dir); err != nil {
		fmt.Println("error:", err)
		return 1
	}
	<-make(chan struct{}) // it is killed, never ended
	return 0
}

func help(dir string) error {
	var job helperJob
	data, err := os.ReadFile(filepath.Join(dir, "helper.json"))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, &job); err != nil {
		return err
	}
	changed := make(chan struct{}, 1)
	conf := config(dir)
	conf.Listen = job.Listen
	conf.Notify = func(string) {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	r, err := New(conf)
	if err != nil {
		return err
	}
	ctx := context.Background()
	if err := r.Apply(ctx, job.Workload); err != nil {
		return err
	}
	for job.UntilReady {
		s, err := r.Status(ctx, job.Workload.ID)
		if err != nil {
			return err
		}
		if s.Ready() {
			break
		}
		<-changed
	}
	fmt.Println("done")
	return nil
}

// startHelper runs the job in another process and returns when it has said "done". The process is killed by the
// returned function, at the latest when the test ends.
func startHelper(t *testing.T, dir string, job helperJob) (pid int, kill func()) {
	t.Helper()
	data, err := json.Marshal(job)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "helper.json"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path)
	cmd.Env = append(os.Environ(), helperMark+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	killed := false
	kill = func() {
		if killed {
			return
		}
		killed = true
		if err := cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
		_ = cmd.Wait() // "signal: killed" is what we want
	}
	t.Cleanup(kill)
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || strings.TrimSpace(line) != "done" {
		t.Fatalf("helper: %q, %v", line, err)
	}
	return cmd.Process.Pid, kill
}
