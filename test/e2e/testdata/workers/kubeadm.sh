# A machine of the user's own: containerd, and the kubelet as kubeadm's systemd unit runs it. It ends when standard
# input does, so with the test, however that ends.
#
# From the environment, beside what machine.sh reads: PROGRAMS (the folder of containerd and company), KUBERNETES
# (that of the kubelet).
. "$MACHINE"

mkdir -p /etc/cni/net.d /var/lib/kubelet
[ ! -f "$DIR/cni.conflist" ] || cp "$DIR/cni.conflist" /etc/cni/net.d/10-own.conflist

PATH="$PROGRAMS:$PATH"
containerd --config "$DIR/containerd.toml" >"$DIR/containerd.log" 2>&1 &

while :; do
	if [ -f /var/lib/kubelet/config.yaml ] && [ -f /var/lib/kubelet/kubeadm-flags.env ]; then
		. /var/lib/kubelet/kubeadm-flags.env
		# shellcheck disable=SC2086 # several words are meant
		"$KUBERNETES/kubelet" --config=/var/lib/kubelet/config.yaml \
			--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf --kubeconfig=/etc/kubernetes/kubelet.conf \
			${KUBELET_KUBEADM_ARGS:-} >>"$DIR/kubelet.log" 2>&1 || true
	fi
	sleep 0.2
done &

read -r _ || true # until the test ends
