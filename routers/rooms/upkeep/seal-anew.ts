import type { Vault } from '../../ports/vault.ts'

interface Sealed {
  sealed: string
}

/** The rows that another key than the current one has sealed, with the same sealed anew; `unknown` counts those that no key opens. */
export function sealAnew<Row extends Sealed>(vault: Vault, purpose: string, rows: readonly Row[]) {
  const opened = rows.flatMap((row) => {
    try {
      vault.open(row.sealed, purpose)
      return [{ ...row, anew: vault.renew(row.sealed, purpose) }]
    } catch {
      return []
    }
  })
  return { changed: opened.filter(({ sealed, anew }) => sealed !== anew), unknown: rows.length - opened.length }
}
