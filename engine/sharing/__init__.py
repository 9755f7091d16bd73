"""Knowledge shared by others, and private knowledge that is committed encrypted."""
