// Generate-types writes the table of every built-in Kubernetes API type that the server serves.
//
// It reads facts only, from the Go types (field order, JSON and protobuf tags) and from the
// published OpenAPI definitions (required, list types, patch strategies, defaults, enums):
//
//	go run . > ../../crates/kinds/tables/types.txt
package main

import (
	"bufio"
	"fmt"
	"log"
	"os"
	"sort"
	"strings"

	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"
	generated "k8s.io/kubernetes/pkg/generated/openapi"
)

const header = `# Every built-in API type of Kubernetes v1.34, as facts. Written by xtask/generate-types; do not edit.
#
# package ALIAS OPENAPI-PREFIX
# alias NAME TYPE [wrapped] [= VALUE|VALUE...]   a named scalar, list or map; wrapped: a protobuf message
# type NAME [atomic]
# TAG NAME TYPE [attribute...]                   a field; tag 0: not in protobuf; name ~: flattened in JSON
#
# types: *T pointer, []T list, {}T map, alias/version.Name in another package
# attributes: always (written when empty), omitzero, required, list=, map=, patch=, default=
`

func main() {
	definitions := generated.GetOpenAPIDefinitions(func(path string) spec.Ref {
		return spec.MustCreateRef("#/" + common.EscapeJsonPointer(path))
	})
	table := newTable(definitions)
	for _, root := range roots() {
		table.add(root)
	}

	if len(table.problems) > 0 {
		log.Fatalf("the table would not be complete:\n%s", strings.Join(table.problems, "\n"))
	}

	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	fmt.Fprint(out, header)
	paths := make([]string, 0, len(table.packages))
	for path := range table.packages {
		paths = append(paths, path)
	}
	sort.Strings(paths)
	for _, path := range paths {
		table.packages[path].write(out)
	}
}
