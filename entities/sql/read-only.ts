/** A deeply read-only type. */
export type DeepReadonly<T> = T extends readonly (infer Item)[]
  ? number extends T['length']
    ? ReadonlyList<Item>
    : ReadonlyMembers<T>
  : T extends object
    ? ReadonlyMembers<T>
    : T

type ReadonlyMembers<T> = { readonly [Key in keyof T]: DeepReadonly<T[Key]> }

/** An interface, because only an interface can refer to itself, as nested JSON lists do. */
interface ReadonlyList<Item> extends ReadonlyArray<DeepReadonly<Item>> {}
