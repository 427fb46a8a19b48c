module github.com/musterhq/muster/test/lab/cluster

go 1.24.0
