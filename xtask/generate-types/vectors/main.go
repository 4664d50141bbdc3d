// Vectors writes pairs of protobuf and JSON for the tests of the decoder: each sample is read as
// JSON, encoded as clients do, and read back as the server does.
//
//	go run ./vectors > ../../crates/kinds/src/protobuf/vectors.txt
package main

import (
	"bufio"
	"bytes"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
)

//go:embed samples.jsonl
var samples string

func main() {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientscheme.AddToScheme(scheme))
	utilruntime.Must(apiextensionsv1.AddToScheme(scheme))
	utilruntime.Must(metav1.AddMetaToScheme(scheme))
	readJSON := serializer.NewCodecFactory(scheme).UniversalDeserializer()
	wire := protobuf.NewSerializer(scheme, scheme)

	out := bufio.NewWriter(os.Stdout)
	fmt.Fprintln(out, "# Protobuf in base64, and the JSON it stands for. Written by xtask/generate-types/vectors.")
	for _, sample := range strings.Split(strings.TrimSpace(samples), "\n") {
		encoded, expected, err := pair(readJSON, wire, []byte(sample))
		if err != nil {
			log.Fatalf("%s: %v", sample, err)
		}
		fmt.Fprintf(out, "\n%s\n%s\n", base64.StdEncoding.EncodeToString(encoded), expected)
	}
	if err := out.Flush(); err != nil {
		log.Fatal(err)
	}
}

func pair(readJSON runtime.Decoder, wire runtime.Serializer, sample []byte) ([]byte, []byte, error) {
	object, kind, err := readJSON.Decode(sample, nil, nil)
	if err != nil {
		return nil, nil, err
	}
	var encoded bytes.Buffer
	object.GetObjectKind().SetGroupVersionKind(*kind)
	if err := wire.Encode(object, &encoded); err != nil {
		return nil, nil, err
	}
	back, _, err := wire.Decode(encoded.Bytes(), nil, nil)
	if err != nil {
		return nil, nil, err
	}
	back.GetObjectKind().SetGroupVersionKind(*kind)
	expected, err := json.Marshal(back)
	return encoded.Bytes(), expected, err
}
