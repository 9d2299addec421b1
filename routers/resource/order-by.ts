import type { TableMapping } from './mapping.ts'

/** The columns of one key of `sort`. */
export function orderBy({ orders, columns }: TableMapping, key: string): string[] {
  const [name, direction] = key.startsWith('-') ? [key.slice(1), 'desc'] : [key, 'asc']
  const names = orders[name] ?? [columns[name]?.column ?? 'id']
  return names.map((column) => `t.${column} ${direction}`)
}
