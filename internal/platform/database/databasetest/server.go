package databasetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"kqueen.io/kqueen/internal/platform/database"
)

const (
	superuser = "kqueen"
	// account is the one that Debian's package makes: PostgreSQL does not run as root.
	account = "postgres"
	// folders is how the folders of servers are named in the one for temporary things.
	folders = "kqueen-postgres-"

	startTimeout = time.Minute
	stopTimeout  = 10 * time.Second
)

// settings of a server whose data is not needed after the next crash.
var settings = []string{
	"listen_addresses=", "fsync=off", "synchronous_commit=off", "full_page_writes=off",
	"max_connections=200", "shared_buffers=32MB", "autovacuum=off",
}

// server is a PostgreSQL with a folder of its own.
type server struct {
	dir string
	// lock is held as long as this process lives: a folder whose lock is free is rubbish.
	lock    *os.File
	process *os.Process
	ended   chan struct{} // closed when the process is gone

	mu   sync.Mutex
	made int      // databases
	free []string // those that no test has
}

// start starts a server, and first removes what killed test binaries have left.
func start(ctx context.Context) (_ *server, err error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	programs, err := programs()
	if err != nil {
		return nil, err
	}
	credential, err := credential(os.Geteuid())
	if err != nil {
		return nil, err
	}
	sweep()
	s := &server{ended: make(chan struct{})}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.stop())
		}
	}()
	if err := s.makeFolder(credential); err != nil {
		return nil, fmt.Errorf("make its folder: %w", err)
	}
	data := filepath.Join(s.dir, "data")
	initdb := exec.CommandContext(ctx, filepath.Join(programs, "initdb"), "--pgdata="+data, "--username="+superuser,
		"--auth=trust", "--encoding=UTF8", "--no-locale", "--no-sync", "--no-instructions")
	s.prepare(initdb, credential)
	if out, err := initdb.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w: %s", err, out)
	}
	args := []string{"-D", data, "-k", s.dir}
	for _, setting := range settings {
		args = append(args, "-c", setting)
	}
	postgres := exec.Command(filepath.Join(programs, "postgres"), args...)
	s.prepare(postgres, credential)
	if err := s.run(ctx, postgres); err != nil {
		return nil, err
	}
	return s, nil
}

// programs returns the folder with the newest PostgreSQL's programs.
func programs() (string, error) {
	const pattern = "/usr/lib/postgresql/*/bin/initdb"
	found, err := filepath.Glob(pattern)
	if err != nil {
		return "", err
	}
	if len(found) == 0 {
		return "", fmt.Errorf("there is no %s; install Debian's package postgresql-15 with: make packages", pattern)
	}
	version := func(path string) float64 {
		v, _ := strconv.ParseFloat(filepath.Base(filepath.Dir(filepath.Dir(path))), 64)
		return v
	}
	newest := slices.MaxFunc(found, func(a, b string) int { return int(version(a) - version(b)) })
	return filepath.Dir(newest), nil
}

// credential is who the server runs as: nil means as the user who runs the test.
func credential(uid int) (*syscall.Credential, error) {
	if uid != 0 {
		return nil, nil
	}
	u, err := user.Lookup(account)
	if err != nil {
		return nil, fmt.Errorf("PostgreSQL does not run as root, and its own user is not there (%w); install it with: make packages", err)
	}
	id, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("user %s: %w", account, err)
	}
	group, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("user %s: %w", account, err)
	}
	return &syscall.Credential{Uid: uint32(id), Gid: uint32(group)}, nil
}

func (s *server) makeFolder(credential *syscall.Credential) (err error) {
	if s.dir, err = os.MkdirTemp("", folders); err != nil {
		return err
	}
	// It gets its name when it is locked: an unlocked one would be swept.
	fresh := filepath.Join(s.dir, "lock.new")
	if s.lock, err = os.Create(fresh); err != nil {
		return err
	}
	if err := unix.Flock(int(s.lock.Fd()), unix.LOCK_EX); err != nil {
		return err
	}
	if err := os.Rename(fresh, filepath.Join(s.dir, "lock")); err != nil {
		return err
	}
	if credential == nil {
		return nil
	}
	return os.Chown(s.dir, int(credential.Uid), int(credential.Gid))
}

// sweep removes the folders of test binaries that are not there any more. What it cannot remove stays.
func sweep() {
	locks, _ := filepath.Glob(filepath.Join(os.TempDir(), folders+"*", "lock"))
	for _, name := range locks {
		file, err := os.Open(name)
		if err != nil {
			continue
		}
		if unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
			_ = os.RemoveAll(filepath.Dir(name))
		}
		_ = file.Close()
	}
}

// prepare gives a program who it runs as, and has it end with this process, however that ends.
func (s *server) prepare(cmd *exec.Cmd, credential *syscall.Credential) {
	cmd.Dir = s.dir
	cmd.Env = []string{"PATH=/usr/bin:/bin", "TZ=UTC"} // no PG… of the user who runs the test
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: credential, Pdeathsig: syscall.SIGQUIT, Setpgid: true}
}

// run starts the server and waits until it answers.
func (s *server) run(ctx context.Context, postgres *exec.Cmd) error {
	output := &bytes.Buffer{}
	postgres.Stdout, postgres.Stderr = output, output
	started := make(chan error, 1)
	go func() {
		// The signal for a dead parent comes when the thread that started the process ends.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := postgres.Start()
		if err != nil {
			close(s.ended)
			started <- err
			return
		}
		s.process = postgres.Process
		started <- nil
		_ = postgres.Wait()
		close(s.ended)
	}()
	if err := <-started; err != nil {
		return err
	}
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		db, err := database.Open(ctx, s.address("postgres"))
		if err == nil {
			return db.Close()
		}
		select {
		case <-s.ended:
			return fmt.Errorf("it ended: %s", output)
		case <-ctx.Done():
			return fmt.Errorf("it does not answer after %s: %w", startTimeout, err)
		case <-ticker.C:
		}
	}
}

// stop ends the server at once and removes its folder. What was not started is stopped.
func (s *server) stop() error {
	var problems []error
	if s.process != nil {
		// SIGQUIT is PostgreSQL's immediate shutdown: it takes its own processes with it.
		if err := s.process.Signal(syscall.SIGQUIT); err != nil && !errors.Is(err, os.ErrProcessDone) {
			problems = append(problems, err)
		}
		select {
		case <-s.ended:
		case <-time.After(stopTimeout):
			problems = append(problems, fmt.Errorf("it did not end within %s", stopTimeout),
				syscall.Kill(-s.process.Pid, syscall.SIGKILL))
			<-s.ended
		}
	}
	if s.dir != "" {
		problems = append(problems, os.RemoveAll(s.dir))
	}
	if s.lock != nil {
		problems = append(problems, s.lock.Close())
	}
	return errors.Join(problems...)
}
