// Command metrics-server is upstream's, which asks kubelets for what pods and nodes use, and answers "kubectl top" and
// HorizontalPodAutoscalers. It knows its version without what upstream's own build links into it.
package main

import (
	"fmt"
	"os"
	"runtime/debug"
	"slices"

	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/component-base/logs"
	"sigs.k8s.io/metrics-server/cmd/metrics-server/app"
)

// upstream is the module whose version is that of this program.
const upstream = "sigs.k8s.io/metrics-server"

func main() {
	if slices.Contains(os.Args[1:], "--version") {
		fmt.Println("metrics-server", version())
		return
	}
	logs.InitLogs()
	err := app.NewMetricsServerCommand(genericapiserver.SetupSignalHandler()).Execute()
	logs.FlushLogs()
	if err != nil {
		fmt.Fprintln(os.Stderr, "metrics-server:", err)
		os.Exit(1)
	}
}

// version is that of the module, which the linker records.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, m := range info.Deps {
		if m.Path == upstream {
			return m.Version
		}
	}
	return "unknown"
}
