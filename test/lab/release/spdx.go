package main

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/CycloneDX/cyclonedx-go"
	"github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx/v2/common"
	"github.com/spdx/tools-golang/spdx/v2/v2_3"
)

// spdx returns the data of a CycloneDX document about a binary as SPDX 2.3.
func spdx(bom *cyclonedx.BOM, created time.Time) ([]byte, error) {
	main := bom.Metadata.Component
	sum := (*main.Hashes)[0].Value
	doc := v2_3.Document{
		SPDXVersion: v2_3.Version, DataLicense: v2_3.DataLicense, SPDXIdentifier: "DOCUMENT", DocumentName: main.Name,
		DocumentNamespace: "https://github.com/musterhq/muster/spdx/" + main.Name + "-" + sum,
		CreationInfo:      &v2_3.CreationInfo{Created: created.UTC().Format(time.RFC3339), Creators: []common.Creator{{CreatorType: "Tool", Creator: "muster-release"}}},
	}
	program := entry("Program", *main)
	program.PackageChecksums = []common.Checksum{{Algorithm: common.SHA256, Value: sum}}
	program.PrimaryPackagePurpose = "APPLICATION"
	doc.Packages = append(doc.Packages, &program)
	doc.Relationships = append(doc.Relationships, related("DOCUMENT", common.TypeRelationshipDescribe, "Program"))
	for i, component := range *bom.Components {
		part := entry(fmt.Sprintf("Module-%d", i), component)
		doc.Packages = append(doc.Packages, &part)
		doc.Relationships = append(doc.Relationships, related("Program", common.TypeRelationshipContains, string(part.PackageSPDXIdentifier)))
	}
	var text bytes.Buffer
	if err := json.Write(&doc, &text, json.Indent("  ")); err != nil {
		return nil, fmt.Errorf("encode SPDX: %w", err)
	}
	return text.Bytes(), nil
}

// entry returns a component as a package of SPDX.
func entry(id string, c cyclonedx.Component) v2_3.Package {
	var licenses []string
	for _, l := range *c.Licenses {
		licenses = append(licenses, l.License.ID)
	}
	return v2_3.Package{
		PackageSPDXIdentifier: common.ElementID(id), PackageName: c.Name, PackageVersion: c.Version,
		PackageDownloadLocation: "NOASSERTION", PackageCopyrightText: "NOASSERTION",
		PackageLicenseConcluded: "NOASSERTION", PackageLicenseDeclared: strings.Join(licenses, " AND "),
		PackageExternalReferences: []*v2_3.PackageExternalReference{{Category: "PACKAGE-MANAGER", RefType: "purl", Locator: c.PackageURL}},
	}
}

func related(a, relationship, b string) *v2_3.Relationship {
	return &v2_3.Relationship{RefA: common.MakeDocElementID("", a), RefB: common.MakeDocElementID("", b), Relationship: relationship}
}
