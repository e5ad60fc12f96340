"""The sums of a pass over the rows: kernels that map a batch to something that adds.

Batches, threads, files and machines are then one mechanism, `source.reduce(kernel)`.

    gram.py        ZᵀZ, Zᵀ1, ZᵀY of a firing pattern, and what they give: ZᵀS, SᵀS, SᵀY
    output.py      at one network: SᵀS and SᵀY, the loss, the gradient; XᵀX
    patterns.py    firing patterns counted; rows of one pattern summed first

SᵀS, SᵀY, XᵀX and losses are summed in double precision whatever the type of the rows, since they
are subtracted from each other; gradient and ZᵀZ are in the type of the rows.
"""
