import { useEffect, useState } from 'react'

type EntityTable = typeof import('./entities.ts')

/** The table of all named characters, which is loaded with the first one. */
let entityTable: EntityTable | undefined

/** Shows a named character, or its source until the table is loaded and if it has no such name. */
export function Entity({ name }: { name: string }) {
  const [table, setTable] = useState(entityTable)
  useEffect(() => {
    if (table) return
    import('./entities.ts').then(
      (loaded) => {
        entityTable = loaded
        setTable(loaded)
      },
      // The source stays visible when the table cannot be loaded.
      () => undefined,
    )
  }, [table])
  return table?.findNamedCharacter(name) ?? `&${name};`
}
