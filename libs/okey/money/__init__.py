"""Money as pure arithmetic: how many chips each money event moves between which accounts."""
