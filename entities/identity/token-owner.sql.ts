import type { Statement } from '../sql/statement.ts'

/** Tokens `t`, their owners `u`, and the apps `a` that hold them by links `l`. */
export const tokensWithOwners = `access_tokens t join users u on u.id = t.user_id
          left join ext_app_links l on l.token_id = t.id left join ext_apps a on a.id = l.app_id`

/** Whether a token lets in: not an expired one, nor that of an app whose link is gone or that is switched off. */
export const letsIn = `(t.expires_at is null or t.expires_at > now()) and (t.holder = 'person' or a.active)`

/** The version of the row of a token's owner. All else about a token stays as it was made. */
export const ownerVersion = 'u.xmin::text'

/** A caller by a token, as they were seen. */
export interface SeenCaller {
  tokenId: number
  ownerVersion: string
}

/** As a statement takes them, and tells of those who have changed. */
export const textOfCaller = ({ tokenId, ownerVersion }: SeenCaller) => `${tokenId} ${ownerVersion}`

const confirming = new WeakMap<Statement<unknown>, Statement<unknown>>()

/**
 * The statement with one more value, a list of callers: each row tells which of them have changed. Where the statement has no
 * row, one comes whose `isRow` is null.
 */
export function confirmingCallers<Row>(statement: Statement<Row>, callersAt: number): Statement<ConfirmedRow<Row>> {
  const known = confirming.get(statement)
  if (known) return known as Statement<ConfirmedRow<Row>>
  const written: Statement<unknown> = {
    ...statement,
    name: statement.name && `${statement.name} confirmed`,
    text: `select callers.changed, q.* from (
             select to_json(array(
               select seen from unnest((select $${callersAt + 1}::text[])::text[]) as seen
                where split_part(seen, ' ', 2) is distinct from (
                  select ${ownerVersion} from ${tokensWithOwners} where t.id = split_part(seen, ' ', 1)::int and ${letsIn}))) as changed) callers
             left join (select true as "isRow", r.* from (${statement.text}) r) q on true`,
    callersAt,
  }
  confirming.set(statement, written)
  return written as Statement<ConfirmedRow<Row>>
}

/** A row, where there is one, beside the callers who have changed. */
export type ConfirmedRow<Row> = { changed: string[] } & ({ isRow: null } | ({ isRow: true } & Row))

export const isConfirmedRow = <Row>(row: ConfirmedRow<Row>): row is ConfirmedRow<Row> & { isRow: true } & Row =>
  row.isRow !== null
