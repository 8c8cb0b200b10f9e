//go:build linux

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kqueen.io/kqueen/internal/clusters/archive/s3/s3test"
)

// TestBackupBucket backs a cluster up to a bucket of a real S3 server: at will, at times and with each change; a moment comes back from
// there, the cluster becomes another one, what is not kept is gone from there, and what is damaged there is not restored.
func TestBackupBucket(t *testing.T) {
	parallel(t, time.Minute)
	at := fmt.Sprintf("127.0.0.1:%d", freePort(t))
	server := s3test.Start(t, at)
	i := started(t)
	create := []string{"backupstore", "create", "bucket", "--s3-endpoint", "http://" + at, "--s3-allow-http", "--s3-region", s3test.Region, "--s3-bucket", s3test.Bucket, "--s3-prefix", "p/q"}
	i.ok(create...)
	credentials := fmt.Sprintf(`{"accessKeyID":%q,"secretAccessKey":%q}`, s3test.AccessKeyID, s3test.SecretAccessKey)
	set := i.command(i.program, "backupstore", "credentials", "set", "bucket", "--data-dir", i.dir)
	set.Stdin = strings.NewReader(credentials)
	if r := i.run(set); r.code != 0 {
		t.Fatal(r.stderr)
	}
	eventually(t, "the address of the host is closed", func(context.Context) error {
		if out := i.ok("backupstore", "get", "bucket", "-o", "yaml"); !strings.Contains(out, "kqueen up --backup-allow "+at) || strings.Contains(out, s3test.SecretAccessKey) {
			return fmt.Errorf("it is %s", out)
		}
		return nil
	})
	i.ok("down")
	i.up("--backup-allow", at)
	i.ok("cluster", "create", "kept", "--wait", "--timeout", patience.String())
	i.ok("backupstore", "wait", "bucket", "--timeout", patience.String())
	i.ok("backup", "create", "first", "--cluster", "kept", "--store", "bucket", "--wait", "--timeout", patience.String())
	i.refusesForged(t, server, "first")
	i.ok("backupschedule", "create", "steady", "--cluster", "kept", "--store", "bucket", "--schedule", "@daily", "--recovery-window", "24h")
	i.ok("backupschedule", "wait", "steady", "--for", "condition=ChangesRecorded", "--timeout", patience.String())

	objects := clientset(t, i.tenant("default", "kept")).CoreV1().ConfigMaps("default")
	if _, err := objects.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "precious"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	second := time.NewTimer(2 * time.Second)
	<-second.C
	moment := time.Now().UTC().Format(time.RFC3339)
	second.Reset(1100 * time.Millisecond)
	<-second.C
	if err := objects.Delete(t.Context(), "precious", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	i.ok("restore", "create", "undelete", "--cluster", "kept", "--store", "bucket", "--at", moment, "--include", "ConfigMap/default/precious", "--yes", "--wait", "--timeout", patience.String())
	if _, err := objects.Get(t.Context(), "precious", metav1.GetOptions{}); err != nil {
		t.Errorf("the restore did not bring it back: %v", err)
	}
	i.ok("restore", "delete", "undelete", "--yes")
	i.becomesAnother(t, "kept", "bucket")
	i.ok("backupschedule", "delete", "steady", "--yes")
	for name := range strings.FieldsSeq(i.ok("backup", "list", "-o", "name")) {
		i.ok("backup", "delete", name[strings.LastIndex(name, "/")+1:], "--yes")
	}
	if left := bucketFiles(t, server, "*", "*", "*", "*"); len(left) > 0 {
		t.Errorf("of what was deleted there is still %q", left)
	}
	i.ok("backupstore", "delete", "bucket", "--yes")
}

// bucketFiles are those in the bucket whose names fit.
func bucketFiles(t *testing.T, server *s3test.Server, pattern ...string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(append([]string{server.Directory, s3test.Bucket, "p", "q"}, pattern...)...))
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(found, func(name string) bool {
		info, err := os.Stat(name)
		return err != nil || info.IsDir()
	})
}

// refusesForged wants that a manifest which is another one is not restored, and puts it back.
func (i *installation) refusesForged(t *testing.T, server *s3test.Server, backup string) {
	t.Helper()
	manifests := bucketFiles(t, server, "*", "*", "backups", "*")
	if len(manifests) != 1 {
		t.Fatalf("in the bucket are %q", manifests)
	}
	was, err := os.ReadFile(manifests[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(manifests[0], []byte("another file"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := i.kqueen("restore", "create", "forged", "--backup", backup, "--compare-only", "--wait", "--timeout", "3s")
	if r.code == 0 || !strings.Contains(r.stdout+r.stderr, "is not signed with the key of its store") {
		t.Errorf("of a manifest that is another one: exit code %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	if err := os.WriteFile(manifests[0], was, 0o600); err != nil {
		t.Fatal(err)
	}
	i.ok("restore", "delete", "forged", "--yes")
}
