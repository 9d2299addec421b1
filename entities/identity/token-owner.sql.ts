import type { Statement } from '../sql/statement.ts'

/** Tokens `t`, their owners `u`, and the apps `a` that hold them by links `l`. */
export const tokensWithOwners = `access_tokens t join users u on u.id = t.user_id
          left join ext_app_links l on l.token_id = t.id left join ext_apps a on a.id = l.app_id`

/** Whether a token lets in: not an expired one, that of a disabled person, or of an app whose link is gone or that is switched off. */
export const letsIn = `(t.expires_at is null or t.expires_at > now()) and not u.disabled and (t.holder = 'person' or a.active)`

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

/** The statement with one more value, a list of callers. Its rows, which are few, come as JSON in one, which tells which callers have changed. */
export function confirmingCallers<Row>(statement: Statement<Row>, callersAt: number): Statement<ConfirmedRows<Row>> {
  const known = confirming.get(statement)
  if (known) return known as Statement<ConfirmedRows<Row>>
  const { read } = statement
  const written: Statement<unknown> = {
    ...statement,
    name: statement.name && `${statement.name} confirmed`,
    text: `select to_json(array(
               select seen from unnest((select $${callersAt + 1}::text[])::text[]) as seen
                where split_part(seen, ' ', 2) is distinct from (
                  select ${ownerVersion} from ${tokensWithOwners} where t.id = split_part(seen, ' ', 1)::int and ${letsIn}))) as changed,
             to_json(array(select r from (${statement.text}) r)) as rows`,
    callersAt,
    read: (sent) => {
      const { changed, rows } = sent as ConfirmedRows<Row & object>
      return { changed, rows: read ? rows.map(read) : rows }
    },
  }
  confirming.set(statement, written)
  return written as Statement<ConfirmedRows<Row>>
}

/** The rows beside the callers who have changed. */
export interface ConfirmedRows<Row> {
  changed: string[]
  rows: Row[]
}
