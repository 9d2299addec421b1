/** Makes a type deeply read-only. */
export type DeepReadonly<T> = T extends readonly (infer Item)[]
  ? number extends T['length']
    ? ReadonlyList<Item>
    : ReadonlyMembers<T>
  : T extends object
    ? ReadonlyMembers<T>
    : T

type ReadonlyMembers<T> = { readonly [Key in keyof T]: DeepReadonly<T[Key]> }

/** Only an interface can refer to itself, which nested JSON lists require. */
interface ReadonlyList<Item> extends ReadonlyArray<DeepReadonly<Item>> {}
