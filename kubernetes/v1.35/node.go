//go:build node

package main

import (
	"context"

	"k8s.io/component-base/cli"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	kubeadm "k8s.io/kubernetes/cmd/kubeadm/app"
	kubeadmerrors "k8s.io/kubernetes/cmd/kubeadm/app/util/errors"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

var programs = map[string]func() int{
	"kube-proxy": func() int { return cli.Run(proxy.NewProxyCommand()) },
	"kubelet":    func() int { return cli.Run(kubelet.NewKubeletCommand(context.Background())) },
	"kubeadm":    runKubeadm,
}

// runKubeadm prints the error itself: kubeadm's Run returns it without a word.
func runKubeadm() int {
	kubeadmerrors.HandleError(kubeadm.Run())
	return 0
}
