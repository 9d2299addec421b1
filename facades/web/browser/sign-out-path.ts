/** Returns true for the path that signs out whoever follows a link of ours to it. */
export function isSignOutPath(pathname: string): boolean {
  try {
    return /^\/logout\/*$/i.test(decodeURIComponent(pathname))
  } catch {
    // The service refuses such a path, too.
    return false
  }
}
