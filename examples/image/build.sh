#!/bin/sh
# Builds a container image from programs of this machine, without Docker: an OCI image layout in a tar file.
#
# usage: build.sh FILE.tar [PROGRAM...]
#
# The image has each PROGRAM below /bin and the shared libraries that it needs; without a PROGRAM, a shell and the tools
# that the scripts of the examples use. The program `fit.sh` of the examples is in /workspace/line.
set -eu

file=${1:?usage: build.sh FILE.tar [PROGRAM...]}
shift
[ $# -gt 0 ] || set -- sh awk cat date env hostname ls mkdir rm sed sleep sort tee tr wc
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
layout=$work/layout
mkdir -p "$root/bin" "$root/etc" "$root/tmp" "$root/workspace/line" "$layout/blobs/sha256"

# Lines of `ldd`: `libc.so.6 => /lib/libc.so.6 (0x…)`, `/lib64/ld-linux.so.2 (0x…)`; a static program has none.
add_libraries() {
  ldd "$1" 2> /dev/null | tr -s ' \t' '\n\n' | grep '^/' | sort -u | while read -r library; do
    mkdir -p "$root$(dirname "$library")"
    cp -L "$library" "$root$library"
  done
}

for program; do
  path=$(command -v "$program") || { echo "error: \`$program\` is not installed" >&2; exit 1; }
  cp -L "$path" "$root/bin/$program"
  add_libraries "$path"
done
# The launcher of an MPIJob gets the program `trainyard` from the cluster; unless it is static, it needs these.
if path=$(command -v trainyard); then
  add_libraries "$path"
fi
echo 'root:x:0:0:root:/:/bin/sh' > "$root/etc/passwd"
chmod 1777 "$root/tmp"
cp "$here/../packages/env-file/common/base/fit.sh" "$root/workspace/line/fit.sh"
chmod 755 "$root/workspace/line/fit.sh"

# Files of the layout are named after their content.
blob() {
  digest=$(sha256sum "$1" | cut -d' ' -f1)
  size=$(wc -c < "$1" | tr -d ' ')
  mv "$1" "$layout/blobs/sha256/$digest"
}

case $(uname -m) in
  aarch64) architecture=arm64 ;;
  *) architecture=amd64 ;;
esac
tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -cf "$work/layer" -C "$root" .
blob "$work/layer"
layer=$digest layer_size=$size
cat > "$work/config" << END
{"architecture": "$architecture", "os": "linux", "config": {"Env": ["PATH=/bin"], "WorkingDir": "/workspace/line", "Cmd": ["sh"]},
 "rootfs": {"type": "layers", "diff_ids": ["sha256:$layer"]}}
END
blob "$work/config"
cat > "$work/manifest" << END
{"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
 "config": {"mediaType": "application/vnd.oci.image.config.v1+json", "digest": "sha256:$digest", "size": $size},
 "layers": [{"mediaType": "application/vnd.oci.image.layer.v1.tar", "digest": "sha256:$layer", "size": $layer_size}]}
END
blob "$work/manifest"
cat > "$layout/index.json" << END
{"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json",
 "manifests": [{"mediaType": "application/vnd.oci.image.manifest.v1+json", "digest": "sha256:$digest", "size": $size}]}
END
echo '{"imageLayoutVersion": "1.0.0"}' > "$layout/oci-layout"
tar -cf "$file" -C "$layout" .
echo "$file: $(wc -c < "$file" | tr -d ' ') bytes, sha256:$digest"
