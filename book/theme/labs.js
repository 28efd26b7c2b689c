// Two repairs of mdBook's own pages for people who use a keyboard or a screen reader.
(() => {
  // The sidebar's toggle is a label that carries a button's attributes without its role.
  document.getElementById('mdbook-sidebar-toggle')?.setAttribute('role', 'button');
  // Code that scrolls sideways can be reached and scrolled without a mouse.
  for (const code of document.querySelectorAll('pre code')) code.tabIndex = 0;
})();
