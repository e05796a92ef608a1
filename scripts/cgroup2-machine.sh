#!/usr/bin/env bash
# Runs a command in a virtual machine in which version 2 holds all control groups, as root in the topmost one:
#   scripts/cgroup2-machine.sh 'npm run test:one -- sandbox-limits control-groups'
# The machine has Debian's kernel, the /usr of this one and this folder, both read-only (what is written is thrown away),
# two processors, 4 GB and no network. It needs qemu-system-x86, apt and, to be fast, /dev/kvm. Ends with the exit code of
# the command.
set -euo pipefail
cd "$(dirname "$0")/.."
command=${1:?a command}
project=$PWD

work=$(mktemp -d /tmp/plinth-machine.XXXXXX)
trap 'rm -rf "$work"' EXIT

# The kernel and busybox are downloaded, and not installed here.
packages=${CGROUP2_MACHINE_PACKAGES:-$work/packages}
mkdir -p "$packages" "$work/unpacked"
if ! ls "$packages"/linux-image-*.deb >/dev/null 2>&1; then
  kernel=$(apt-cache depends linux-image-amd64 | awk '/Depends: linux-image/ { print $2; exit }')
  (cd "$packages" && apt-get download -qq "$kernel" busybox-static 2>/dev/null)
fi
for package in "$packages"/*.deb; do dpkg-deb -x "$package" "$work/unpacked"; done
kernel=$(ls "$work"/unpacked/boot/vmlinuz-*)
version=${kernel##*/vmlinuz-}
busybox=$work/unpacked/bin/busybox

# The first file system: busybox, the modules for disk and folders, and what mounts them.
first=$work/first
mkdir -p "$first"/{bin,proc,sys,dev,new} "$first/etc/alternatives"
cp "$busybox" "$first/bin/busybox"
for path in drivers/virtio drivers/block/virtio_blk.ko net/9p fs/{9p,overlayfs,ext4,jbd2,netfs,fscache,mbcache.ko} lib crypto arch/x86/crypto; do
  from=lib/modules/$version/kernel/$path
  if [ -e "$work/unpacked/$from" ]; then
    mkdir -p "$first/${from%/*}"
    cp -r "$work/unpacked/$from" "$first/${from%/*}/"
  fi
done
cp "$work/unpacked/lib/modules/$version"/modules.{order,builtin} "$first/lib/modules/$version/"
"$busybox" depmod -b "$first" "$version"
cp /etc/{passwd,group,ld.so.cache} "$first/etc/"
cp -P /etc/alternatives/* "$first/etc/alternatives/"
printf '%s\n' "$command" >"$first/command"

cat >"$first/init" <<'INIT'
#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
for module in virtio_pci virtio_blk 9pnet_virtio 9p overlay crc32c_generic ext4; do modprobe "$module"; done
mount -t tmpfs root /new
cd /new
mkdir -p usr proc sys dev etc tmp run root var/tmp plinth .project
shared=trans=virtio,version=9p2000.L,msize=1048576,cache=loose,ro
mount -t 9p -o "$shared" usr usr
mount -t 9p -o "$shared" project .project
mount -t ext4 /dev/vda tmp
chmod 1777 tmp
mkdir tmp/.written tmp/.overlay
mount -t overlay -o lowerdir=/new/.project,upperdir=/new/tmp/.written,workdir=/new/tmp/.overlay overlay plinth
for name in bin sbin lib lib64; do ln -s "usr/$name" "$name"; done
cp -a /etc/. etc/
cp /bin/busybox run/busybox
cp /command run/command
for name in proc sys dev; do mount --move "/$name" "$name"; done
mkdir dev/shm
mount -t tmpfs shm dev/shm
mount -t cgroup2 cgroup2 sys/fs/cgroup
cat >run/start <<'START'
cd /plinth
/run/busybox ip link set lo up
export PATH=/plinth/node_modules/.bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin HOME=/root LANG=C.UTF-8 TMPDIR=/tmp
bash /run/command
echo "machine: exit code $?"
/run/busybox poweroff -f
START
exec switch_root /new /bin/bash run/start
INIT
chmod +x "$first/init"
(cd "$first" && find . | "$busybox" cpio -o -H newc 2>/dev/null) >"$work/first.cpio"

truncate -s 16G "$work/disk"
/sbin/mkfs.ext4 -q "$work/disk"
if [ -w /dev/kvm ] && [ "${CGROUP2_MACHINE_KVM:-on}" = on ]; then processor=(-enable-kvm -cpu host,-arch-capabilities); else processor=(-cpu max); fi
share() { echo "local,path=$2,mount_tag=$1,security_model=none,readonly=on,multidevs=remap"; }
qemu-system-x86_64 "${processor[@]}" -smp 2 -m 4096 -nodefaults -no-reboot -display none -serial stdio \
  -kernel "$kernel" -initrd "$work/first.cpio" -append 'console=ttyS0 quiet panic=-1' \
  -drive "file=$work/disk,format=raw,if=virtio,cache=unsafe" \
  -virtfs "$(share usr /usr)" -virtfs "$(share project "$project")" </dev/null |
  tee "$work/said"
code=$(tr -d '\r' <"$work/said" | sed -n 's/^machine: exit code //p' | tail -1)
exit "${code:-1}"
