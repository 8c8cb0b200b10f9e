# What makes a machine of namespaces: sourced by its process 1, in namespaces of its own. Everything in them ends with
# that process.
#
# From the environment: DIR (its files), LINK, ADDRESS/24, GATEWAY, NODE.
set -eu
read -r _ # the link is there

mount --make-rprivate /
mkdir -p "$DIR/etc" "$DIR/work" "$DIR/libexec" "$DIR/libexec-work" "$DIR/lib" "$DIR/log" "$DIR/opt"
mount -t overlay overlay -o "lowerdir=/etc,upperdir=$DIR/etc,workdir=$DIR/work" /etc
# Kubelets of other machines write there too, and one that leaves would find it not empty.
mount -t overlay overlay -o "lowerdir=/usr/libexec,upperdir=$DIR/libexec,workdir=$DIR/libexec-work" /usr/libexec
mount --bind "$DIR/lib" /var/lib
mount --bind "$DIR/log" /var/log
mount --bind "$DIR/opt" /opt
mount -t tmpfs -o mode=0755 tmpfs /run
mount -t proc proc /proc
hostname machine

ip link set lo up
ip link set "$LINK" name eth0
ip addr add "$ADDRESS/24" dev eth0
ip link set eth0 up
ip route add default via "$GATEWAY"
echo 1 >/proc/sys/net/ipv4/ip_forward

# Name servers of the host are not reached from here.
rm -f /etc/resolv.conf /etc/hosts
echo 'options ndots:1' >/etc/resolv.conf
printf '127.0.0.1 localhost\n%s %s\n' "$ADDRESS" "$NODE" >/etc/hosts
if [ ! -e "$DIR/booted" ]; then # what is this host's is not there, what is its own stays
	rm -rf /etc/kubernetes /etc/cni
	: >"$DIR/booted"
fi
: >"$DIR/up"
