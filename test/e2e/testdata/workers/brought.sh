# A machine that somebody brings: containerd, and the kubelet as kubeadm's systemd unit runs it. It is process 1
# of namespaces of its own, so that everything in them ends with it; and it ends when standard input does, so
# with the test, however that ends.
#
# From the environment: DIR (its files), LINK, ADDRESS/30, GATEWAY, NODE, PROGRAMS (the folder of containerd and
# company), KUBERNETES (that of the kubelet).
set -eu
read -r _ # the link is there

mount --make-rprivate /
mkdir -p "$DIR/etc" "$DIR/work" "$DIR/lib" "$DIR/log" "$DIR/opt"
mount -t overlay overlay -o "lowerdir=/etc,upperdir=$DIR/etc,workdir=$DIR/work" /etc
mount --bind "$DIR/lib" /var/lib
mount --bind "$DIR/log" /var/log
mount --bind "$DIR/opt" /opt
mount -t tmpfs -o mode=0755 tmpfs /run
mount -t proc proc /proc
hostname brought

ip link set lo up
ip link set "$LINK" name eth0
ip addr add "$ADDRESS/30" dev eth0
ip link set eth0 up
ip route add default via "$GATEWAY"
echo 1 >/proc/sys/net/ipv4/ip_forward

# Name servers of the host are not reached from here.
rm -f /etc/resolv.conf /etc/hosts
echo 'options ndots:1' >/etc/resolv.conf
printf '127.0.0.1 localhost\n%s %s\n' "$ADDRESS" "$NODE" >/etc/hosts
rm -rf /etc/kubernetes /etc/cni/net.d
mkdir -p /etc/cni/net.d /var/lib/kubelet
[ ! -f "$DIR/cni.conflist" ] || cp "$DIR/cni.conflist" /etc/cni/net.d/10-brought.conflist

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
