import { replaceUserdata, userdataAfter } from '../../../entities/identity/frontend-migration.sql.ts'
import type { Services } from '../../core/services.ts'
import { USERDATA } from '../../ports/vault.ts'
import type { Rotation } from './rotation.ts'
import { sealAnew } from './seal-anew.ts'

/** Few, because what migrations keep for a person may be large. */
const BATCH = 100

/** Seals anew what front-end migrations keep for people. */
export async function rotateUserdata(
  { sql, vault }: Pick<Services, 'sql' | 'vault'>,
  rotation: Rotation,
): Promise<void> {
  for (let after = { user: 0, migration: 0 }; ; ) {
    const rows = await sql(userdataAfter, [after.user, after.migration, BATCH])
    const { changed, unknown } = sealAnew(vault, USERDATA, rows)
    if (changed.length > 0) {
      const ids = [changed.map(({ user }) => user), changed.map(({ migration }) => migration)]
      const values = [...ids, changed.map(({ sealed }) => sealed), changed.map(({ anew }) => anew)]
      rotation.renewed += (await sql(replaceUserdata, values)).length
    }
    rotation.migrationData += rows.length
    rotation.unknown += unknown
    const last = rows.at(-1)
    if (!last || rows.length < BATCH) return
    after = last
  }
}
