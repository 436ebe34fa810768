/* What the report's JSON says. */
function fillSections(report) {
	$('title').textContent = visible(report.session || '?');
}
