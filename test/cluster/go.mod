module github.com/musterhq/muster/test/cluster

go 1.24.0
