// Command generate copies the kinds of the Gateway API, standard channel, and their licence, of the version that a module requires:
//
//	generate -module DIR -out DIR
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const (
	upstream = "sigs.k8s.io/gateway-api"
	prefix   = "gateway.networking.k8s.io_"
	// policy is an admission policy that upstream has beside the kinds.
	policy = prefix + "vap_safeupgrades.yaml"
)

func main() {
	module := flag.String("module", "", "folder of the module that requires "+upstream)
	out := flag.String("out", "", "folder for the copies")
	flag.Parse()
	if err := run(context.Background(), *module, *out); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, module, out string) error {
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", upstream)
	cmd.Dir = module
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("download %s: %w: %s", upstream, err, said)
	}
	cmd = exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", upstream)
	cmd.Dir = module
	dir, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("find %s: %w", upstream, err)
	}
	from := strings.TrimSpace(string(dir))
	files, err := filepath.Glob(filepath.Join(from, "config/crd/standard", prefix+"*.yaml"))
	if err != nil {
		return err
	}
	for _, file := range append(files, filepath.Join(from, "LICENSE")) {
		if filepath.Base(file) == policy {
			continue
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(out, strings.TrimPrefix(filepath.Base(file), prefix)), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}
