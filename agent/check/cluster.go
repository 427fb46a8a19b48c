package check

// clusterTable has the checks of `agent doctor` about the cluster, in the order in which they make
// sense: without the API server nothing else can be found out.
var clusterTable = []Check{}
