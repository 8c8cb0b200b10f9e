// Command program is what the pods of the charts run, so that they need one image and no registry: called sites, it is the operator of
// the chart of that name, and called etcd, it is etcd. An end-to-end test builds it, and no package imports it.
package main

import (
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-logr/logr"
	"go.etcd.io/etcd/server/v3/etcdmain"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

func main() {
	if filepath.Base(os.Args[0]) == "etcd" {
		etcdmain.Main(os.Args)
		return
	}
	image := flag.String("image", "", "image of the pods of sites, with httpd")
	lease := flag.String("lease", "", "namespace/name of the Lease of the replica that works")
	flag.Parse()
	if err := operate(*image, *lease); err != nil {
		fmt.Fprintln(os.Stderr, "sites:", err)
		os.Exit(1)
	}
}

// operate serves the webhooks and, while it holds the Lease, makes of each Site what serves it.
func operate(image, lease string) error {
	ctrl.SetLogger(logr.FromSlogHandler(slog.NewJSONHandler(os.Stderr, nil)))
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(appsv1.AddToScheme(scheme), corev1.AddToScheme(scheme), networkingv1.AddToScheme(scheme)); err != nil {
		return err
	}
	namespace, name, _ := strings.Cut(lease, "/")
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme, LeaderElection: true, LeaderElectionNamespace: namespace, LeaderElectionID: name, LeaderElectionReleaseOnCancel: true,
		HealthProbeBindAddress: ":8081", Metrics: server.Options{BindAddress: "0"},
		WebhookServer: webhook.NewServer(webhook.Options{CertDir: "/certificate"}),
	})
	if err != nil {
		return err
	}
	hooks := mgr.GetWebhookServer()
	hooks.Register("/complete", &webhook.Admission{Handler: completing{}})
	hooks.Register("/check", &webhook.Admission{Handler: checking{}})
	r := &sites{Client: mgr.GetClient(), image: image}
	err = errors.Join(
		mgr.AddHealthzCheck("ping", healthz.Ping),
		mgr.AddReadyzCheck("webhooks", hooks.StartedChecker()),
		ctrl.NewControllerManagedBy(mgr).Named("sites").For(newSite()).Owns(&appsv1.Deployment{}).Complete(r),
	)
	if err != nil {
		return err
	}
	return mgr.Start(ctrl.SetupSignalHandler())
}
