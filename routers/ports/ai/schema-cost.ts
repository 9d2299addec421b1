type Schema = Record<string, unknown>

/** Maximum number of checks of one value, which take a fifth of a second. */
const MAX_CHECKS = 50_000

/** Maximum number of values inside one another, which both checks visit by calls inside one another. */
const MAX_DEPTH = 1000

/** True if a value can be checked quickly: each of its parts meets every alternative of the schema for it. */
export function isQuicklyChecked(schema: Schema, value: unknown): boolean {
  const budget = new CheckBudget()
  if (!isShallow(value)) return false
  budget.spendOn(schema, value)
  return budget.left >= 0
}

/** Looks level by level, as a value may be too deep to be followed by calls. */
function isShallow(value: unknown): boolean {
  let level: unknown[] = [value]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_DEPTH) return false
    level = level.flatMap((each) => (typeof each === 'object' && each !== null ? Object.values(each) : []))
  }
  return true
}

/** Counts the checks of a schema whose references are inlined, until they are too many. */
class CheckBudget {
  left = MAX_CHECKS

  spendOn(schema: unknown, value: unknown): void {
    this.left -= 1
    if (this.left < 0 || !isObject(schema)) return
    const { anyOf, oneOf, allOf, type, enum: choices } = schema
    if (Array.isArray(type)) this.left -= type.length
    if (Array.isArray(choices)) this.#spendOnChoices(choices, value)
    for (const alternatives of [anyOf, oneOf, allOf].filter(Array.isArray)) this.#spendOnEach(alternatives, value)
    // The values that all of them let through are merged.
    if (Array.isArray(allOf)) for (const _ of allOf) this.#spendOnSize(value)
    if (Array.isArray(value)) this.#spendOnItems(schema, value)
    else if (isObject(value)) this.#spendOnMembers(schema, value)
  }

  #spendOnEach(schemas: readonly unknown[], value: unknown): void {
    for (const schema of schemas) this.spendOn(schema, value)
  }

  /** A value that is none of the choices is compared with all, and then they are listed. */
  #spendOnChoices(choices: readonly unknown[], value: unknown): void {
    const index = choices.indexOf(value)
    this.left -= index < 0 ? choices.length : index / 100
  }

  #spendOnItems({ items, prefixItems, additionalItems, contains, uniqueItems }: Schema, value: readonly unknown[]) {
    const positions = [prefixItems, items].find(Array.isArray) ?? []
    const rest = Array.isArray(items) ? additionalItems : items
    for (const [index, item] of value.entries()) {
      if (this.left < 0) return
      this.spendOn(index < positions.length ? positions[index] : rest, item)
      if (contains !== undefined) this.spendOn(contains, item)
    }
    if (uniqueItems === true) this.#spendOnSize(value)
  }

  /** Each property is looked up, whether or not the value has it. */
  #spendOnMembers({ properties, required, additionalProperties }: Schema, value: Schema): void {
    const known = isObject(properties) ? properties : {}
    this.left -= Object.keys(known).length + (Array.isArray(required) ? required.length : 0)
    for (const [name, member] of Object.entries(value)) {
      if (this.left < 0) return
      this.spendOn(Object.hasOwn(known, name) ? known[name] : additionalProperties, member)
    }
  }

  #spendOnSize(value: unknown): void {
    this.left -= 1
    if (this.left < 0 || typeof value !== 'object' || value === null) return
    for (const member of Object.values(value)) this.#spendOnSize(member)
  }
}

const isObject = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
