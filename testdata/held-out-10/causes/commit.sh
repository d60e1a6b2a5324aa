# Commits the one file of tree/, for git: no delta, no compression, so that the pack is as large as the file
cd tree
git add file
git -c user.name=nobody -c user.email=nobody@here commit -q -m one
