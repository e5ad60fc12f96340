"""The sums of a pass over the rows: kernels that map a batch to something that adds.

Batches, threads, files and machines are then one mechanism, `source.reduce(kernel)`.

    gram.py      ZᵀZ, Zᵀ1, ZᵀY of a firing pattern, and what they give: ZᵀS, SᵀS, SᵀY
    cells.py     rows of one firing pattern, summed first
    output.py    at one network: SᵀS and SᵀY, the loss, the gradient
    counts.py    how often units fire, and where a pattern differs from another
    inputs.py    XᵀX and XᵀY

SᵀS, SᵀY, XᵀX and losses are summed in double precision whatever the type of the rows, since they
are subtracted from each other; gradient and ZᵀZ are in the type of the rows.
"""
